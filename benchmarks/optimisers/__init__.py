"""Samplers on problems that nobody tuned them to, beside what people use."""
