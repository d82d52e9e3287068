extension TestClock {
    /// Waits until the clock was moved by a duration.
    ///
    /// - Throws: `CancellationError` in a cancelled task.
    package func pause(for duration: Duration) async throws { try await sleep(until: now.advanced(by: duration)) }
}
