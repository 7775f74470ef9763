"""Going on after memory has run out, and finding the size that fits beforehand.

failure: what an error says about the device, and how to let go of what the failed call holds. ranks: agreement of all processes of
a job. retry, microbatch, batch: the three public helpers. split, saved, trial, search: what they are made of.
"""
