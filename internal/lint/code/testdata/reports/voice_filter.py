# after: maum-ai/voicefilter PR#6
import argparse
import glob
import os

import librosa
import soundfile
import torch

from utils.audio import Audio
from utils.hparams import HParam
from model.model import VoiceFilter
from model.embedder import SpeechEmbedder


def main(args, hp):
    model = VoiceFilter(hp).cuda()
    model.load_state_dict(torch.load(args.checkpoint_path, map_location="cpu")["model"])
    model.eval()
    embedder = SpeechEmbedder(hp).cuda()
    embedder.load_state_dict(torch.load(args.embedder_path, map_location="cpu"))
    embedder.eval()
    audio = Audio(hp)

    for mixed_file in glob.glob(os.path.join(args.mixed_dir, "*.wav")):
        ref_wav, _ = librosa.load(args.reference_file, sr=16000)
        ref_mel = torch.from_numpy(audio.get_mel(ref_wav)).float().cuda()
        dvec = embedder(ref_mel).unsqueeze(0)  # want: leak/eval-without-no-grad

        mixed_wav, _ = librosa.load(mixed_file, sr=16000)
        mag, phase = audio.wav2spec(mixed_wav)
        mag = torch.from_numpy(mag).float().cuda().unsqueeze(0)
        mask = model(mag, dvec)  # want: leak/eval-without-no-grad
        est_mag = (mag * mask)[0].cpu().detach().numpy()
        soundfile.write(os.path.join(args.out_dir, os.path.basename(mixed_file)), audio.spec2wav(est_mag, phase), 16000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("config", "embedder_path", "checkpoint_path", "mixed_dir", "reference_file", "out_dir"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    main(args, HParam(args.config))
