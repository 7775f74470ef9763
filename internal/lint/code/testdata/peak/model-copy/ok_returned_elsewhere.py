import copy


class Storage:
    def cuda(self):
        return Storage(self.data.cuda())

    def __deepcopy__(self, memo):
        return Storage(copy.deepcopy(self.data, memo))
