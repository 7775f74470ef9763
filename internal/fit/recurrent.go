package fit

// recurrentRecipes are cuDNN's LSTM, GRU and RNN.
var recurrentRecipes = map[string]recipe{}
