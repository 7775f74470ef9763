"""Ways to need less memory, tried on a program that `ullage fit` traces, without a change to its files.

`apply` knows their names; each of the other modules has those of one kind. A remedy does what a user would write, where the program
does the same thing anyway: a module is called, converted or frozen, an optimizer is made or steps.
"""
