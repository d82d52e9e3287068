package import CurlEngine

extension Locked where Value == Int {
    /// Adds one to the number, and returns it: 1 for the first call, if the number began as 0.
    package func next() -> Int {
        withLock { count in
            count += 1
            return count
        }
    }
}
