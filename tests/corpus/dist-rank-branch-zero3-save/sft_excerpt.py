# lines 224-233 of sft.py
    def maybe_save(self):
        if self.step == 0:
            return
        if self.step % self.save_every:
            return
        if self.rank == 0:
            print(f"[rank0]: saving consolidated weights at step {self.step}")
            self.save_hf()
        self.last_save = self.step
