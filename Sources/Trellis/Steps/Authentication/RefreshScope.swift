/// Tells the requests of a refresh from those that wait for it.
enum RefreshScope {
    /// The refreshes that the running task is part of.
    @TaskLocal static var refreshes: Set<ObjectIdentifier> = []
}
