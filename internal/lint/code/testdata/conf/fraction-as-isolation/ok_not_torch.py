class Budget:
    def set_per_process_memory_fraction(self, share):
        self.share = share


Budget().set_per_process_memory_fraction(0.5)
