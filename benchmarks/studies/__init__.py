"""Studies of results, beside the library: papers, samplers, importances. They take minutes to hours."""
