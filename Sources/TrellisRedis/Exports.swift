#if Redis
// The feature comes with the cache, and so with the core.
@_exported public import TrellisCaching
#endif
