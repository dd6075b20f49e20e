import Foundation

enum Expiry {
    /// Returns when the clock says that `expiry` (seconds since 1970) has passed.
    static func wait(until expiry: Int64) async throws {
        while case let now = Int64(time(nil)), now <= expiry {
            try await Task.sleep(for: .seconds(expiry - now + 1))
        }
    }
}
