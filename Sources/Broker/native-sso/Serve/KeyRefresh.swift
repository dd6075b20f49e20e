import IdentityProvider
import JOSE
import KeyModule
import Logging
import NativeSSO
import Registry
import StrictCoding

/// Keeps the key ring in sync with the registry's key table and the key files.
actor KeyRefresh {
    private let store: SigningKeyStore
    private let provider: any KeyProvider
    private let replica: String?
    private let ring: KeyRing
    private let logger: Logger
    private let changes: ChangeLog
    /// The last load; `nil`: the next one reads every file.
    private var last: Load?
    /// How often ``readAgain()`` was called.
    private var hangups = 0
    /// Rows that loaded with problems are loaded again after this time: a request with an invented key must not cost the keys'
    /// provider more.
    private static let pause: Duration = .seconds(2)
    /// How long a request waits.
    private static let patience: Duration = .seconds(3)
    /// `nil`: the table could not be read. A request with an invented key costs the database at most this rate.
    private let reads = SharedReads<[KeySet.Problem]?>(
        burst: 1, interval: .milliseconds(200), longestWait: .seconds(1), clock: ContinuousClock())

    private struct Load {
        let rows: SigningKeys
        let problems: [KeySet.Problem]
        /// Whether it met no problem, of a key or of the table.
        let isWhole: Bool
        let at: ContinuousClock.Instant
    }

    init(
        store: SigningKeyStore, provider: any KeyProvider, replica: String?, ring: KeyRing, logger: Logger
    ) {
        self.replica = replica
        self.store = store
        self.provider = provider
        self.ring = ring
        self.logger = logger
        changes = ChangeLog(logger)
    }

    /// Reads the table. Reads the files only if the table changed or the last load had a problem. Only before requests: then
    /// ``refresh()`` keeps the order.
    /// - Returns: The problems with the keys; `nil` if the table could not be read.
    func load() async -> [KeySet.Problem]? {
        guard let rows = await rows() else { return nil }
        if let last, last.rows == rows, last.isWhole || .now - last.at < Self.pause { return last.problems }
        return await load(rows)
    }

    /// The same, by a read that begins after this call. Others may share it.
    /// - Throws: An outage if the table cannot be read, or too many wait for it.
    nonisolated func refresh() async throws(PortError) { _ = try await problems() }

    private nonisolated func problems() async throws(PortError) -> [KeySet.Problem] {
        let problems: [KeySet.Problem]?
        do throws(SharedReads<[KeySet.Problem]?>.Refusal) {
            problems = try await reads.read(within: Self.patience) { await self.load() }
        } catch {
            throw .outage(Outage(.keyModule, error, unknown: "a key of this broker"))
        }
        guard let problems else { throw .outage(Outage(.database, "keys cannot be listed", isUndecided: true)) }
        return problems
    }

    /// Always reads the files, and logs the result. For SIGHUP, after an operator has changed a file.
    func readAgain() async {
        last = nil
        hangups += 1
        do throws(PortError) {
            let problems = try await problems()
            logger.notice("keys were read again", metadata: ["problems": .stringConvertible(problems.count)])
        } catch {
            logger.warning("keys were not read again, because they cannot be listed")
        }
    }

    private func rows() async -> SigningKeys? {
        do throws(PortError) {
            let rows = try await store.keys()
            suspend(rows)
            return rows
        } catch {
            // The start of the broker ends for another reason, and has said so.
            guard !Task.isCancelled else { return nil }
            changes.note("\(error)", "keys cannot be listed; the present ones stay in use")
            return nil
        }
    }

    /// Before the keys are loaded, which takes longer when their provider is slow or away. A suspended key stays suspended
    /// while its row cannot be read.
    private func suspend(_ rows: SigningKeys) {
        let now = Set(rows.records.filter { $0.suspendedAt != nil && $0.state.maySign }.map(\.kid))
            .union(ring.suspendedKIDs.intersection(rows.unknown.keys))
        guard ring.suspendedKIDs != now else { return }
        ring.suspendedKIDs = now
        logger.notice(
            now.isEmpty ? "no key is suspended any more" : "keys are suspended",
            metadata: ["kid": .string(now.sorted().joined(separator: " "))])
    }

    private func load(_ rows: SigningKeys) async -> [KeySet.Problem] {
        let turn = hangups
        // A key of unknown use may be of any.
        let unknownUses = rows.unknown.values.flatMap { KeyUse(rawValue: $0).map { [$0] } ?? KeyUse.allCases }
        let keys = await KeySet(rows.records, unknownUses: Set(unknownUses), of: replica, from: provider)
        let isAdopted = ring.adopt(keys)
        var problems = keys.problems.map(\.description)
        if !rows.unknown.isEmpty {
            let count = rows.unknown.count
            problems.append(
                "\(count.counted("key")) \(count == 1 ? "is" : "are") of a kind that this version does not know")
        }
        for use in keys.missing where !keys.problems.contains(where: { $0.use == use && $0.state == .active }) {
            problems.append("there is no active key for use \(use.rawValue); make one with: native-sso key generate")
        }
        changes.note(
            problems.isEmpty ? nil : problems.joined(separator: "; "), level: .error,
            isAdopted ? "keys are not all usable" : "new keys are not usable; the present ones stay in use")
        if isAdopted {
            logger.notice(
                "keys loaded",
                metadata: [
                    "signing": .string(keys.signingKIDs.isEmpty ? "none" : keys.signingKIDs.joined(separator: " "))
                ])
        }
        // A file may have been replaced since it was read.
        if turn == hangups {
            last = Load(rows: rows, problems: keys.problems, isWhole: problems.isEmpty, at: .now)
        }
        return keys.problems
    }
}

/// Archives the keys of one IdP in the table `idp_key`.
///
/// The service's database role can write to that table, and a key in it can sign logins. Without protection, the
/// database password alone would allow an attacker to log in as any user. So each row has a tag that only a broker
/// can compute, and rows without a valid tag are ignored. A revocation needs no tag.
struct RegisteredKeyArchive: KeyArchive {
    private let store: ProviderKeyStore
    private let authenticator: any RecordAuthenticator
    private let clock: any WallClock
    private let changes: ChangeLog

    init(_ store: ProviderKeyStore, authenticator: any RecordAuthenticator, clock: any WallClock, logger: Logger) {
        self.store = store
        self.authenticator = authenticator
        self.clock = clock
        changes = ChangeLog(logger)
    }

    func keys(of issuer: Issuer) async throws(PortError) -> ArchivedKeys {
        var keys = ArchivedKeys()
        var strangers = 0
        for row in try await store.keys(of: issuer) {
            if row.revokedAt != nil {
                if let thumbprint = Base64URL.decode(row.thumbprint), thumbprint.count == 32 {
                    keys.revoked.insert(thumbprint)
                } else {
                    keys.isComplete = false
                }
            }
            if let life = try await life(row, of: issuer) {
                keys.lives.append(life)
            } else {
                strangers += 1
            }
        }
        var problem: String? =
            strangers == 0
            ? nil : "\(strangers.counted("row")) of idp_key for \(issuer), not made by a broker with these keys"
        if !keys.isComplete {
            problem = (problem.map { $0 + "; " } ?? "") + "a revoked key of \(issuer) cannot be told by its thumbprint"
        }
        changes.note(problem, level: .error, "keys of an identity provider are ignored")
        return keys
    }

    func record(_ keys: [JSONWebKey], of issuer: Issuer) async throws(PortError) {
        let known = Dictionary(try await self.keys(of: issuer).lives.map { ($0.key, $0) }) { first, _ in first }
        let now = clock.now
        var rows: [ProviderKeyRow] = []
        for key in keys {
            let life = ArchivedKey(
                key: key, firstSeen: min(known[key]?.firstSeen ?? now, now),
                lastSeen: max(known[key]?.lastSeen ?? now, now))
            let thumbprint = Base64URL.encode(key.thumbprint)
            rows.append(
                ProviderKeyRow(
                    thumbprint: thumbprint, kid: key.keyID, algorithm: key.algorithm?.rawValue,
                    publicJWK: String(decoding: key.json.octets, as: UTF8.self), firstSeenAt: life.firstSeen,
                    lastSeenAt: life.lastSeen, tag: Base64URL.encode(try await tag(life, of: issuer))))
        }
        try await store.record(rows, of: issuer)
    }

    /// `nil` if the row has no valid tag or no valid key.
    private func life(_ row: ProviderKeyRow, of issuer: Issuer) async throws(PortError) -> ArchivedKey? {
        guard let json = try? JSONReader.parse(row.publicJWK.utf8).object, let key = try? JSONWebKey(json) else {
            return nil
        }
        let life = ArchivedKey(key: key, firstSeen: row.firstSeenAt, lastSeen: row.lastSeenAt)
        let tag = Base64URL.encode(try await tag(life, of: issuer))
        return ConstantTime.equal(tag.utf8, row.tag.utf8) ? life : nil
    }

    /// Covers the whole row, with the key in this program's own serialization: `jsonb` keeps neither order nor spaces.
    private func tag(_ life: ArchivedKey, of issuer: Issuer) async throws(PortError) -> [UInt8] {
        try await authenticator.tag(
            .providerKey,
            [
                Array(issuer.string.utf8), life.key.thumbprint, life.key.json.octets,
                Array(String(life.firstSeen.seconds).utf8), Array(String(life.lastSeen.seconds).utf8),
            ])
    }
}

/// For the keys of a signer of events: what an operator revoked. Its own keys are never recorded, because an archived
/// key would verify id_tokens of an IdP with the same issuer.
struct RevokedKeys: KeyArchive {
    let archive: RegisteredKeyArchive

    func keys(of issuer: Issuer) async throws(PortError) -> ArchivedKeys {
        var keys = try await archive.keys(of: issuer)
        keys.lives = []
        return keys
    }

    func record(_ keys: [JSONWebKey], of issuer: Issuer) async throws(PortError) {}
}
