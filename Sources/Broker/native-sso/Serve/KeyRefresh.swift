import KeyModule
import Logging
import NativeSSO
import Registry

/// Keeps the key ring in step with the registry's key table and with the key files.
actor KeyRefresh {
    private let store: SigningKeyStore
    private let provider: any KeyProvider
    private let ring: KeyRing
    private let logger: Logger
    private let changes: ChangeLog
    /// What the ring was last loaded from without a problem.
    private var loaded: [SigningKeyRow]?

    init(store: SigningKeyStore, provider: any KeyProvider, ring: KeyRing, logger: Logger) {
        self.store = store
        self.provider = provider
        self.ring = ring
        self.logger = logger
        changes = ChangeLog(logger)
    }

    /// Reads the table, and the files where the table has changed or a file was wrong the last time.
    /// - Returns: What is wrong with the keys; empty, too, where the table could not be read.
    @discardableResult
    func refresh() async -> [KeySet.Problem] {
        guard let rows = await rows(), rows != loaded else { return [] }
        return load(rows)
    }

    /// Reads the files in any case: an operator says that they changed, and wants to know that they were read.
    func readAgain() async {
        guard let rows = await rows() else {
            logger.warning("keys were not read again: they cannot be listed")
            return
        }
        let problems = load(rows)
        logger.notice("keys were read again", metadata: ["problems": .stringConvertible(problems.count)])
    }

    private func rows() async -> [SigningKeyRow]? {
        do throws(PortError) {
            return try await store.keys()
        } catch {
            changes.note("\(error)", "keys cannot be listed; the present ones stay in use")
            return nil
        }
    }

    private func load(_ rows: [SigningKeyRow]) -> [KeySet.Problem] {
        let records = rows.compactMap(KeyRecord.init)
        let keys = KeySet(records, isComplete: !rows.contains(where: \.mayBeUnknownRefreshTokenKey), from: provider)
        let isAdopted = ring.adopt(keys)
        var problems = keys.problems.map(\.description)
        if records.count < rows.count {
            problems.append("\(rows.count - records.count) keys are of a kind that this version does not know")
        }
        for use in keys.missing where !keys.problems.contains(where: { $0.use == use && $0.state == .active }) {
            problems.append("there is no active key for use \(use.rawValue); make one with: native-sso key generate")
        }
        changes.note(
            problems.isEmpty ? nil : problems.joined(separator: "; "), level: .error,
            isAdopted ? "keys are not all usable" : "new keys are not usable; the present ones stay in use")
        if isAdopted, rows != loaded {
            logger.notice("keys loaded", metadata: ["signing": .string(keys.signingKID ?? "none")])
        }
        loaded = problems.isEmpty ? rows : nil
        return keys.problems
    }
}

extension SigningKeyRow {
    /// Whether this version cannot read it, and it may be one that refresh tokens are made with.
    var mayBeUnknownRefreshTokenKey: Bool {
        KeyRecord(self) == nil && (KeyUse(rawValue: use) ?? .refreshToken) == .refreshToken
    }
}

extension KeyRecord {
    /// `nil` for a row of a newer version, with a use, algorithm or state that this one does not know.
    init?(_ row: SigningKeyRow) {
        guard let use = KeyUse(rawValue: row.use), let algorithm = KeyAlgorithm(rawValue: row.algorithm),
            let state = KeyState(rawValue: row.state)
        else { return nil }
        self.init(
            kid: row.kid, use: use, algorithm: algorithm, reference: row.reference, publicJWK: row.publicJWK,
            state: state, createdAt: row.createdAt, publishedAt: row.publishedAt,
            activatedAt: row.activatedAt, retiredAt: row.retiredAt)
    }
}
