extension Session {
    /// Makes a value of each element, a number of elements at a time, and returns the values in the order of the elements.
    ///
    /// ```swift
    /// let users = try await session.map(urls, concurrency: 8) { session, url in
    ///     try await session.decode(User.self, from: url)
    /// }
    /// ```
    ///
    /// The elements are taken one after the other, each when an earlier one is done, so that a lazy sequence may be long. The first error
    /// cancels the elements under way, and no other begins; to keep the values of the others, let `transform` return a `Result`. To limit
    /// the requests of a whole session, set ``ConnectionLimits/requestsPerOrigin``.
    ///
    /// - Parameters:
    ///   - elements: The elements, such as URLs or requests.
    ///   - concurrency: The maximum number of elements at a time; 8 unless given. A value less than 1 is taken as 1.
    ///   - transform: Makes a value of an element, in a child task.
    /// - Returns: The values, in the order of the elements.
    /// - Throws: The first error that `transform` throws; `CancellationError` in a cancelled task.
    public func map<Elements: Sequence, Value: Sendable>(
        _ elements: Elements, concurrency: Int = 8,
        _ transform: @escaping @Sendable (_ session: Session, _ element: Elements.Element) async throws -> Value
    ) async throws -> [Value] where Elements.Element: Sendable {
        try await withThrowingTaskGroup(of: (index: Int, value: Value).self) { group in
            var (remaining, count) = (elements.makeIterator(), 0)
            var values: [Int: Value] = [:]

            while count < max(concurrency, 1), let element = remaining.next() {
                group.addTask { [count] in (count, try await transform(self, element)) }
                count += 1
            }
            while let (index, value) = try await group.next() {
                values[index] = value
                guard let element = remaining.next() else { continue }
                try Task.checkCancellation()
                group.addTask { [count] in (count, try await transform(self, element)) }
                count += 1
            }
            return (0..<count).compactMap { values[$0] }
        }
    }
}
