// The feature comes with the core.
@_exported public import TrellisCore
