import CCurl

extension EasyHandle {
    /// Leaves old entries in libcurl's cache of addresses when the transfer ends, or not.
    ///
    /// At the end of each transfer libcurl searches the complete cache, which all engines of the session share, for entries that are older
    /// than this option allows. A transfer that has used an existing connection has added no entry, and needs no such search: transfers
    /// that add entries make it. The option is changed when the response has begun, because it would also allow old addresses for a new
    /// connection, which libcurl makes until then if the existing one turns out to be dead.
    func keepAddresses(_ areKept: Bool) {
        guard given.keepsAddresses != areKept else { return }
        given.keepsAddresses = areKept
        // 60 seconds are libcurl's default, which ``LookupGate/knownAge`` relies on.
        set(CURLOPT_DNS_CACHE_TIMEOUT, areKept ? -1 : 60)
    }
}
