"""Large work, part by part: a part is a module with `measure`."""
