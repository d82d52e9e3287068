// The core and its features as one module.
@_exported public import TrellisCaching
@_exported public import TrellisCore
@_exported public import TrellisDiagnostics
@_exported public import TrellisDownloads
@_exported public import TrellisEvents
@_exported public import TrellisNameServices
@_exported public import TrellisUpgrades
@_exported public import TrellisWebSockets
