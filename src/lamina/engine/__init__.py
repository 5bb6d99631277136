"""The engine: message in → folds → facts → recall → context out. It knows no backend."""
