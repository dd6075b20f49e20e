import Logging
import NativeSSO
import PostgresClient
import Registry
import ServiceLifecycle
import StrictCoding

/// What only the database can say: whether its role may do too much, and whether the broker has named users in another
/// way before.
///
/// Waiting repairs neither, so the broker does not serve then. A database that is down or has no schema yet says
/// nothing, and is asked again.
struct StartChecks: Service {
    private static let interval: Duration = .seconds(1)

    let configuration: Configuration
    let database: any StatementExecutor
    let logger: Logger

    /// - Returns: Whether the database has answered.
    /// - Throws: What forbids the start.
    func pass() async throws(CommandFailure) -> Bool {
        let store = SubjectPrefixStore(database: database)
        async let prefixes = try? store.inUse()
        guard let role = try? await DatabaseRole.current(in: database) else { return false }
        guard !role.ownsRegistry || configuration.database.allowsOwner else { throw .refused(role.refusal) }
        guard let used = await prefixes else { return false }
        let conflicts = configuration.conflicts(withPrefixesInUse: used)
        guard conflicts.isEmpty else { throw .refused(conflicts.map(\.sentence).joined(separator: "\n")) }
        guard (try? await store.record(configuration.usedPrefixes)) != nil else { return false }
        if role.ownsRegistry {
            logger.warning("the database role may change everything, which database.allow_owner allows")
        }
        return true
    }

    /// Goes on where the start could not wait.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if try await pass() { break }
                try? await Task.sleep(for: Self.interval)
            }
        }
        try? await gracefulShutdown()
    }
}

extension DatabaseRole {
    fileprivate var refusal: String {
        "the database user \(name) \(isSuperuser ? "is a superuser" : "is a member of native_sso_admin"), so that a thief of "
            + "its password could change everything; give the service a login of its own IN ROLE native_sso_broker, or write "
            + "database.allow_owner: true"
    }
}

extension Configuration {
    /// The prefix of each identity provider whose users the broker may name.
    var usedPrefixes: [Issuer: String] {
        identityProviders.reduce(into: [:]) { $0[$1.issuer] = subjects.prefix(of: $1.issuer) }
    }

    /// Each identity provider whose users would get other names than before, or the names that users of another one had.
    /// - Parameter used: The prefix of each identity provider that has had sessions; it may be gone by now.
    func conflicts(withPrefixesInUse used: [Issuer: String]) -> [ConfigurationProblem] {
        let now = usedPrefixes
        func owner(_ issuer: Issuer) -> Issuer {
            identityProviders.first { $0.issuer == issuer }?.subjectNames.twin ?? issuer
        }
        return identityProviders.compactMap { provider in
            guard let prefix = now[provider.issuer] else { return nil }
            if let before = used[provider.issuer], !before.hasSameOctets(as: prefix) {
                return ConfigurationProblem(
                    place: provider.subjectNames.prefixPlace,
                    message: "users of \(provider.issuer) have names \(Self.wording(before)) at APIs already, and now "
                        + "would get names \(Self.wording(prefix)); restore it, or let an administrator type: native-sso "
                        + "subject-prefix forget \(provider.issuer)")
            }
            guard !provider.isDisabled else { return nil }
            let other = used.sorted { $0.key.string < $1.key.string }.first { issuer, before in
                now[issuer] == nil && owner(issuer) != owner(provider.issuer)
                    && SubjectPrefixes.mayNameAlike(before, prefix)
            }
            return other.map { issuer, before in
                ConfigurationProblem(
                    place: provider.subjectNames.prefixPlace,
                    message: "users of \(issuer) have names \(Self.wording(before)) at APIs already, and users of "
                        + "\(provider.issuer) could get the same ones; write another subject_prefix, or keep \(issuer) with "
                        + "disabled: true and write shares_subjects_with: \(issuer) if both give the same users the same sub"
                )
            }
        }
    }

    private static func wording(_ prefix: String) -> String {
        prefix.isEmpty ? "without subject_prefix" : "with the subject_prefix \(prefix)"
    }
}

extension ConfigurationProblem {
    /// As the broker says it, without the file.
    var sentence: String { "\(place.key): \(message)" }
}
