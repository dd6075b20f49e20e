import Foundation
import NativeSSO
import Registry

extension GlobalOptions {
    /// Lends the registry to a command. A failure of the registry becomes the command's.
    func administer<Value: Sendable>(
        _ body: (Administration) async throws(AdministrationError) -> Value
    ) async throws(CommandFailure) -> Value {
        try await withRegistry { registry throws(CommandFailure) in
            do throws(AdministrationError) {
                return try await body(registry)
            } catch {
                throw CommandFailure(error)
            }
        }
    }

    /// Lends the registry to a command that can fail for reasons of its own.
    func withRegistry<Value: Sendable>(
        _ body: (Administration) async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        try await configuration().database.withPool { pool throws(CommandFailure) in
            try await body(Administration(pool: pool))
        }
    }

    func act(reason: String?) -> AdministrativeAct {
        var randomness = SystemRandomNumberGenerator()
        return AdministrativeAct(
            actor: Operator.name(environment: ProcessInfo.processInfo.environment), reason: reason,
            requestID: .timeOrdered(milliseconds: UInt64(clamping: SystemClock().milliseconds), using: &randomness))
    }
}
