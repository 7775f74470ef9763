# A method of that name that is not autograd's.
import torch
from engine import Tape

tape = Tape()


def run(node):
    return tape.build(node, create_graph=True)
