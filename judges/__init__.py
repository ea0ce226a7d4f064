"""Model judges: is this statement true of this evidence?"""
