"""Finds statements worth remembering: clauses, judged by a small model that was trained on labelled talk."""
