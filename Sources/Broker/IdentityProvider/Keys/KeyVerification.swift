import JOSE
import NativeSSO
import StrictCoding

extension ProviderKeys {
    /// The keys of an issuer that may verify a token.
    enum Admissible {
        /// Only keys in the current key set: for statements about the present.
        case current
        /// Also retired keys, if the token was issued in their life: subject tokens may be old.
        case everLive
    }

    struct Verified {
        let token: VerifiedJWS
        /// Whether its key is in the issuer's current key set.
        let isKeyCurrent: Bool
    }

    /// The result of a verification with the known keys.
    enum Finding {
        case verified(Verified)
        /// No known key made the signature. A key published since may have made it, even with the same `kid` or
        /// without one: some issuers reuse a `kid`.
        case unexplained(Miss)
    }

    enum Miss {
        case noKeySet
        /// The token's `kid` is not in the current key set, or the token has none: a newer key may have signed it.
        case unknown(SubjectTokenDefect)
        /// The key with the token's `kid` did not sign it, or is retired. Only an issuer that reuses a `kid` makes it true.
        case known(SubjectTokenDefect)
    }

    /// Verifies the signature of `token` with a key of this issuer. Suspends only if no known key verifies it.
    func verify(
        _ token: CompactJWS, with admissible: Admissible = .everLive
    ) async throws(IDTokenVerificationError) -> Verified {
        switch try find(token, with: admissible) {
        case .verified(let verified): verified
        case .unexplained(let miss): try await verify(token, with: admissible, after: miss)
        }
    }

    /// Looks for a known key of this issuer that verifies the signature of `token`.
    func find(_ token: CompactJWS, with admissible: Admissible) throws(IDTokenVerificationError) -> Finding {
        let snapshot = snapshot
        guard isUsable(snapshot) else { return .unexplained(.noKeySet) }
        return try find(token, with: admissible, in: snapshot)
    }

    /// Looks again among newer keys.
    func verify(
        _ token: CompactJWS, with admissible: Admissible, after miss: Miss
    ) async throws(IDTokenVerificationError) -> Verified {
        var isNew = false
        if case .unknown = miss {
            do throws(SharedReads<Void>.Refusal) {
                try await fetch()
            } catch {
                // A fetch that began before may bring the key all the same.
                await fetchInFlight()
                if case .verified(let verified) = try find(token, with: admissible) { return verified }
                throw .outage(Outage(.identityProvider, error, unknown: "a key of \(issuer)"))
            }
            isNew = true
        } else {
            await fetchIfDue()
        }
        let newer = snapshot
        guard isUsable(newer) else { throw .outage(outage(newer)) }
        switch try find(token, with: admissible, in: newer) {
        case .verified(let verified): return verified
        // That fetch may have begun before the token came.
        case .unexplained(.unknown(let defect)) where !isNew:
            return try await verify(token, with: admissible, after: .unknown(defect))
        // If the issuer is unreachable, the key may still exist there: an outage, not a refusal.
        case .unexplained(.unknown(let defect)), .unexplained(.known(let defect)):
            guard newer.failure == nil else { throw .outage(outage(newer, isUndecided: true)) }
            throw .refused(defect)
        case .unexplained(.noKeySet): throw .outage(outage(newer))
        }
    }

    private func find(
        _ token: CompactJWS, with admissible: Admissible, in snapshot: KeySnapshot
    ) throws(IDTokenVerificationError) -> Finding {
        var failure: JWSError
        switch Result(catching: { () throws(JWSError) in
            try token.verified(by: try snapshot.currentKey(for: token.header))
        }) {
        case .success(let verified):
            guard !snapshot.isRevoked(verified.key) else { throw .refused(.keyRevoked) }
            return .verified(Verified(token: verified, isKeyCurrent: true))
        case .failure(let error): failure = error
        }
        // Continue only if another key with the same `kid` could verify the token.
        guard [.unknownKey, .keyDoesNotFitAlgorithm, .badSignature].contains(failure) else {
            throw .refused(SubjectTokenDefect(failure))
        }
        let isUnknown = failure == .unknownKey || token.header.keyID == nil
        for life in snapshot.retiredKeys(for: token.header) {
            switch Result(catching: { () throws(JWSError) in try token.verified(by: life.key) }) {
            case .success(let verified):
                guard !snapshot.isRevoked(life.key) else { throw .refused(.keyRevoked) }
                // The issuer may have taken it into its key set again.
                guard verifies(life, verified, admissible) else { return .unexplained(.known(.keyRetired)) }
                return .verified(Verified(token: verified, isKeyCurrent: false))
            case .failure(.badSignature): if failure == .unknownKey { failure = .badSignature }
            case .failure(let error): throw .refused(SubjectTokenDefect(error))
            }
        }
        let defect = SubjectTokenDefect(failure)
        return .unexplained(isUnknown ? .unknown(defect) : .known(defect))
    }

    /// Whether a retired key may verify this token.
    private func verifies(_ life: ArchivedKey, _ token: VerifiedJWS, _ admissible: Admissible) -> Bool {
        guard admissible == .everLive, settings.honoursRetiredKeys,
            let issuedAt = token.claims.number("iat")?.wholeSeconds
        else { return false }
        return life.wasLive(at: UnixTime(seconds: issuedAt), tolerance: lifeTolerance)
    }

    /// - Parameter isUndecided: Whether tokens of known keys are verified meanwhile.
    private func outage(_ snapshot: KeySnapshot, isUndecided: Bool = false) -> Outage {
        if !snapshot.isArchiveRead { return Outage(.database, "key archive of \(issuer) not read") }
        let reason = snapshot.failure.map { "\($0)" } ?? "not fetched yet"
        return Outage(.identityProvider, "key set of \(issuer): \(reason)", isUndecided: isUndecided)
    }
}
