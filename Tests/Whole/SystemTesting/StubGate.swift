import Foundation

/// Holds threads of a stub until a test lets them go on.
public final class StubGate: Sendable {
    private let condition = NSCondition()
    nonisolated(unsafe) private var isOpen = false  // only under the condition's lock

    public init() {}

    public func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    func wait() {
        condition.lock()
        while !isOpen { condition.wait() }
        condition.unlock()
    }
}
