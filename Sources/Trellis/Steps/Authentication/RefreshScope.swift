/// The task-local mark that tells the requests of a refresh from the requests that wait for it.
enum RefreshScope {
    /// The refreshes that the running task is part of, by their ``CredentialKeeper``.
    @TaskLocal static var refreshes: Set<ObjectIdentifier> = []
}
