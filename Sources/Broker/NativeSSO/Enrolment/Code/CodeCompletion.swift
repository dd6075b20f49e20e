import Synchronization

/// Turns what is stored for a code into the answer that every repeated request gets.
struct CodeCompletion: Sendable {
    let register: any CodeRegister
    let enrolment: Enrolment
    let orphans: OrphanedTokens

    func run(_ request: CodeRequest, _ kept: KeptAnswer, _ seal: CodeSeal) async throws(CodeError) -> ProviderTokens {
        switch kept {
        case .refused(let error): throw .refused(.provider(error))
        case .answer(let answer): return answer
        case .tokens(let tokens):
            do throws(CodeError) {
                return try await finish(request, tokens, seal)
            } catch {
                if case .refused = error { await abandon(request, tokens, seal) }
                throw error
            }
        }
    }

    /// The stored tokens cannot become an answer. Another broker may have sent them to the app already. They are
    /// revoked only if the register has withdrawn them.
    func abandon(_ request: CodeRequest, _ kept: ProviderTokens, _ seal: CodeSeal) async {
        let isWithdrawn: Bool
        do throws(PortError) {
            isWithdrawn = try await register.forget(seal.name, seal.binding)
        } catch {
            return orphans.leave(kept.refreshToken, of: request)
        }
        if isWithdrawn { orphans.revoke(kept.refreshToken, of: request) }
    }

    private func finish(
        _ request: CodeRequest, _ kept: ProviderTokens, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        let answer = try await answer(request, kept)
        let sealed = try CodeError.port { () throws(PortError) in try seal.seal(.answer(answer)) }
        let present = try await CodeError.port { () async throws(PortError) in
            try await register.finish(seal.name, seal.binding, answer: sealed)
        }
        guard let present else { throw .refused(.relay(.used)) }
        guard present != sealed else { return answer }
        // A repeated request was faster: all requests get its answer.
        guard case .answer(let first) = try CodeError.port({ () throws(PortError) in try seal.open(present) })
        else { throw .broken("what is kept for a code is no answer") }
        return first
    }

    /// The answer made from the identity provider's tokens.
    private func answer(_ request: CodeRequest, _ kept: ProviderTokens) async throws(CodeError) -> ProviderTokens {
        let enrols = request.enrols(kept)
        let login = EnrolmentRequest(
            requestID: request.requestID, client: request.client, issuer: request.issuer,
            idToken: SubjectToken(kept.idToken), manner: .code, device: request.device,
            scope: request.device == nil && enrols ? Scope(["openid", Scope.deviceSSO]) : nil,
            proof: request.proof, trace: request.trace)
        let idToken = try await enrolling { () async throws(EnrolmentError) in try await enrolment.verify(login) }
        guard idToken.fits(accessToken: kept.accessToken) else { throw .refused(.unusable(.accessTokenHash)) }
        guard enrols else {
            try await enrolling { () async throws(EnrolmentError) in try enrolment.check(login, idToken) }
            return kept
        }
        let secret = kept.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) }
        guard let device = request.device ?? secret else { throw .broken("a device secret was not kept") }
        let enrolled = try await enrolling { () async throws(EnrolmentError) in
            try await enrolment.enrol(login, idToken, device: device, accessToken: kept.accessToken)
        }
        var answer = kept
        answer.idToken = enrolled.accessToken
        if request.issuer.codeRelay?.passesIDToken == true { answer.providerIDToken = kept.idToken }
        return answer
    }

    private func enrolling<Value: Sendable>(
        _ body: () async throws(EnrolmentError) -> Value
    ) async throws(CodeError) -> Value {
        do throws(EnrolmentError) {
            return try await body()
        } catch .invalidIDToken(let defect) {
            throw .refused(.idToken(defect))
        } catch {
            throw CodeError(error, refusal: { CodeRefusal($0) })
        }
    }
}

/// Tokens from the IdP that no app received. The broker tries to revoke their refresh token at the IdP. The app does
/// not wait for it. The audit records the result under the request's id.
final class OrphanedTokens: Sendable {
    private let relay: any CodeRelay
    private let audit: any AuditTrail
    private let clock: any WallClock
    private let pending: PendingCodes
    private let asked = Mutex<[Issuer: Int]>([:])

    init(relay: any CodeRelay, audit: any AuditTrail, clock: any WallClock, pending: PendingCodes) {
        self.relay = relay
        self.audit = audit
        self.clock = clock
        self.pending = pending
    }

    /// Call this only if no app has the token or can get it.
    func revoke(_ refreshToken: String?, of request: CodeRequest) {
        guard let refreshToken, let policy = request.issuer.codeRelay else { return }
        guard policy.revokesOrphans else { return record(.switchedOff, request) }
        let issuer = request.issuer.issuer
        // Bounds the revocations that a hanging identity provider can hold.
        let isIn = asked.withLock { asked in
            guard asked[issuer, default: 0] < policy.revocationsAtOnce else { return false }
            asked[issuer, default: 0] += 1
            return true
        }
        guard isIn else { return record(.failed, request) }
        pending.run { [self] in
            let outcome = await relay.revoke(refreshToken, of: request.client.id, at: issuer)
            asked.withLock { $0[issuer, default: 1] -= 1 }
            record(outcome, request)
        }
    }

    /// The broker does not revoke the token, because an app may use it.
    func leave(_ refreshToken: String?, of request: CodeRequest) {
        guard refreshToken != nil else { return }
        record(.outcomeUnknown, request)
    }

    private func record(_ outcome: RevocationOutcome, _ request: CodeRequest) {
        audit.record(
            AuditEvent(
                kind: .codeOrphaned, requestID: request.requestID, occurredAtMilliseconds: clock.milliseconds,
                client: request.client.id, reason: outcome.rawValue, trace: request.trace))
    }
}
