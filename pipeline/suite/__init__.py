"""The suite file: read strictly, checked whole, explained where it is wrong."""
