extension Admission {
    package init(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, _ appraisal: Appraisal, device: DeviceDigest,
        milliseconds: Int64
    ) {
        var randomness = PooledRandomness()
        let milliseconds = UInt64(clamping: milliseconds)
        self.init(
            requestID: request.requestID,
            issuer: idToken.issuer,
            sessionID: idToken.sessionID,
            subject: idToken.subject,
            sourceClient: idToken.sourceClient,
            otherAudience: idToken.audience.filter { $0 != idToken.sourceClient },
            client: request.client.id,
            allowsSelfExchange: request.client.allowsSelfExchange,
            device: device,
            profile: request.profile,
            scope: appraisal.scope,
            audiences: request.client.audiences,
            login: idToken.login,
            tokenIssuedAt: idToken.issuedAt,
            idleLimit: appraisal.idleLimit,
            grantLifetime: appraisal.grantLifetime,
            firstSightLifetime: appraisal.allowsFirstSight ? request.issuer.sessionLifetime : nil,
            isPermitted: appraisal.isPermitted,
            proof: request.proof,
            heedsPin: appraisal.heedsPin,
            assertion: request.assertion,
            proposedGrantID: .timeOrdered(milliseconds: milliseconds, using: &randomness),
            proposedSessionRowID: .timeOrdered(milliseconds: milliseconds, using: &randomness))
    }
}
