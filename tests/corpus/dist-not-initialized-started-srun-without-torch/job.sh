#!/bin/bash
#SBATCH -N 1 --ntasks-per-node=2 --gres=gpu:2
module load anaconda
source activate mae
export MASTER_ADDR=$(hostname) MASTER_PORT=29501
srun -l python main_mae.py --epochs 800
