"""adjudge: grade agent conversations with model judges, with numbers that can be believed."""
