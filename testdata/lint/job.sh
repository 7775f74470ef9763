#!/bin/bash
#SBATCH --gres=gpu:1
export PYTORCH_CUDA_ALLOC_CONF=max_split_size:128
python train.py
