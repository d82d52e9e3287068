/// A queue in the order of arrival. Adding an element and taking the first one cost O(1) on average.
public struct FIFO<Element> {
    @usableFromInline var elements: [Element?] = []
    /// The index of the first element that was not taken.
    @usableFromInline var first = 0

    /// Creates an empty queue.
    @inlinable public init() {}

    /// Whether the queue is empty.
    @inlinable public var isEmpty: Bool { first == elements.count }

    /// The number of elements.
    @inlinable public var count: Int { elements.count - first }

    /// The first element; `nil` if the queue is empty.
    @inlinable public var peek: Element? { first < elements.count ? elements[first] : nil }

    /// Adds an element at the end.
    @inlinable public mutating func append(_ element: Element) {
        // Most queues have more than one element, and would take memory for each of the first ones.
        if elements.capacity == 0 { elements.reserveCapacity(4) }
        if first > 0, first == elements.count {
            elements.removeAll(keepingCapacity: true)
            first = 0
        }
        elements.append(element)
    }

    /// Removes and returns the first element; `nil` if the queue is empty.
    @inlinable public mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first].take()
        first += 1
        if first == elements.count {
            // The memory of a shorter queue stays for the next element, which may never come.
            guard first > 64 else { return element }
            elements = []
            first = 0
        } else if first > 64, 2 * first > elements.count {
            // At least as many elements were taken as are moved.
            elements.removeFirst(first)
            first = 0
        }
        return element
    }

    /// Returns whether an element meets a condition.
    @inlinable public func contains(where condition: (Element) -> Bool) -> Bool {
        elements[first...].contains { $0.map(condition) ?? false }
    }

    /// Removes the elements that meet a condition.
    @inlinable public mutating func removeAll(where isRemoved: (Element) -> Bool) {
        elements = elements[first...].filter { $0.map { !isRemoved($0) } ?? false }
        first = 0
    }
}

extension FIFO: Sendable where Element: Sendable {}
