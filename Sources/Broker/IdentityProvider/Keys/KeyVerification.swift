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

    struct Miss {
        /// Why no known key fits; `nil`: there was no usable key set.
        let defect: SubjectTokenDefect?
        /// ``KeySnapshot/number`` of those keys.
        let number: Int
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
        guard isUsable(snapshot) else { return .unexplained(Miss(defect: nil, number: snapshot.number)) }
        return try find(token, with: admissible, in: snapshot)
    }

    /// Looks again among newer keys.
    func verify(
        _ token: CompactJWS, with admissible: Admissible, after miss: Miss
    ) async throws(IDTokenVerificationError) -> Verified {
        let newer = await snapshotAfterMiss()
        guard isUsable(newer) else { throw .outage(outage(newer)) }
        var defect = miss.defect
        if defect == nil || newer.number != miss.number {
            switch try find(token, with: admissible, in: newer) {
            case .verified(let verified): return verified
            case .unexplained(let second):
                guard defect != nil else { return try await verify(token, with: admissible, after: second) }
                defect = second.defect
            }
        }
        // If the issuer is unreachable, the key may still exist there: an outage, not a refusal.
        guard let defect, newer.failure == nil else { throw .outage(outage(newer)) }
        throw .refused(defect)
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
        for life in snapshot.retiredKeys(for: token.header) {
            switch Result(catching: { () throws(JWSError) in try token.verified(by: life.key) }) {
            case .success(let verified):
                try check(life, admissible, for: verified, in: snapshot)
                return .verified(Verified(token: verified, isKeyCurrent: false))
            case .failure(.badSignature): if failure == .unknownKey { failure = .badSignature }
            case .failure(let error): throw .refused(SubjectTokenDefect(error))
            }
        }
        return .unexplained(Miss(defect: SubjectTokenDefect(failure), number: snapshot.number))
    }

    /// Throws unless a retired key may verify this token.
    private func check(
        _ life: ArchivedKey, _ admissible: Admissible, for token: VerifiedJWS, in snapshot: KeySnapshot
    ) throws(IDTokenVerificationError) {
        guard !snapshot.isRevoked(life.key) else { throw .refused(.keyRevoked) }
        guard admissible == .everLive, settings.honoursRetiredKeys,
            let issuedAt = token.claims.number("iat")?.wholeSeconds,
            life.wasLive(at: UnixTime(seconds: issuedAt), tolerance: lifeTolerance)
        else { throw .refused(.keyRetired) }
    }

    private func outage(_ snapshot: KeySnapshot) -> Outage {
        if !snapshot.isArchiveRead { return Outage(.database, "key archive of \(issuer) not read yet") }
        let reason = snapshot.failure.map { "\($0)" } ?? "not fetched yet"
        return Outage(.identityProvider, "key set of \(issuer): \(reason)")
    }
}
