import IdentityProvider
import Logging
import NativeSSO
import Registry

/// Keeps what is copied from the registry fresh: clients and scopes, and which keys of the identity providers are
/// revoked.
///
/// What an exchange decides by is read anew in its own statement; this is what
/// identification and authentication go by, and may be as old as the interval.
struct DirectoryRefresh: Sendable {
    private let snapshot: RegistrySnapshot
    private let providers: [ProviderKeys]
    private let changes: ChangeLog

    init(_ snapshot: RegistrySnapshot, providers: [ProviderKeys], logger: Logger) {
        self.snapshot = snapshot
        self.providers = providers
        changes = ChangeLog(logger)
    }

    func refresh() async {
        do throws(PortError) {
            try await snapshot.reload()
            changes.note(nil, Self.message)
        } catch {
            changes.note("\(error)", Self.message)
            return
        }
        for provider in providers { await provider.reloadArchive() }
    }

    private static let message: Logger.Message = "clients cannot be read; the last copy stays in use"
}
