# SPDX-License-Identifier: Apache-2.0
"""Runs the encoder of train_jepa.py on synthetic images: forward passes only, no optimizer."""

import argparse
import time

import torch

from train_jepa import SyntheticImages, VisionTransformer


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    model = VisionTransformer().to(args.device).eval()
    images = SyntheticImages(args.batch, size=64, device=args.device, seed=0)
    batches = 0
    end = time.monotonic() + args.seconds
    with torch.no_grad():
        while time.monotonic() < end:
            model(images.next())
            batches += 1
    print(f"{batches * args.batch} images in {args.seconds:g} s")


if __name__ == "__main__":
    main()
