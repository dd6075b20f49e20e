import Foundation

/// Runs blocking work on a thread of its own, so that a wait for a process or a socket never occupies the cooperative pool.
package func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
