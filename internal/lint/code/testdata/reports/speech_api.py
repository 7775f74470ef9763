# after: neonbjb/tortoise-tts#36
import torch
import torch.nn.functional as F
from tqdm import tqdm

from models.autoregressive import UnifiedVoice
from models.clvp import CLVP


class TextToSpeech:
    def __init__(self, models_dir, batch_size=16):
        self.batch_size = batch_size
        self.autoregressive = UnifiedVoice(layers=30).cpu().eval()
        self.autoregressive.load_state_dict(torch.load(f"{models_dir}/autoregressive.pth"))
        self.clvp = CLVP(dim_text=768).cpu().eval()
        self.clvp.load_state_dict(torch.load(f"{models_dir}/clvp.pth"))

    def tts(self, text_tokens, conds, num_samples=256):
        samples, scores = [], []
        self.autoregressive = self.autoregressive.cuda()
        for _ in tqdm(range(num_samples // self.batch_size)):
            codes = self.autoregressive.inference_speech(conds, text_tokens, num_return_sequences=self.batch_size)
            samples.append(F.pad(codes, (0, 500 - codes.shape[1]), value=8193))
        self.clvp = self.clvp.cuda()
        for batch in samples:
            scores.append(self.clvp(text_tokens.repeat(batch.shape[0], 1), batch))  # want: leak/list-with-graph
        best = torch.cat(scores).topk(1).indices
        return torch.cat(samples)[best]
