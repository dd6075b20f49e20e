/// Records refusals under their request id, and actions outside the database. A statement that changes state writes its
/// own audit event.
package protocol AuditTrail: Sendable {
    /// Returns at once; the event is written in the background. If it cannot be, the loss is counted and logged.
    func record(_ event: AuditEvent)
}

/// One event of the audit, as ``AuditTrail`` records it.
package struct AuditEvent: Sendable, Hashable {
    /// What happened. The raw value is what the audit stores.
    package enum Kind: String, Sendable, CaseIterable {
        case requestRefused = "request_refused"
        case exchangeRefused = "exchange_refused"
        case refreshRefused = "refresh_refused"
        case logoutRefused = "logout_refused"
        case enrolmentRefused = "enrolment_refused"
        /// A hand-off to a web app, or its redemption.
        case handoffRefused = "handoff_refused"
        /// An identity provider issued tokens for a code, and no app received them.
        case codeOrphaned = "code_orphaned"
    }

    /// What happened.
    package let kind: Kind
    /// The X-Request-Id of the answer.
    package let requestID: UniqueID
    /// Milliseconds since 1970, by the broker's clock.
    package let occurredAtMilliseconds: Int64
    /// A registered client, never a value of an unknown caller.
    package let client: ClientID?
    /// From a closed vocabulary.
    package let reason: String
    /// The session, grant and clients that the request concerned.
    package let subject: AuditSubject
    /// The trace that the request belongs to; `nil`: none is known.
    package let trace: UniqueID?

    package init(
        kind: Kind, requestID: UniqueID, occurredAtMilliseconds: Int64, client: ClientID?, reason: String,
        subject: AuditSubject = AuditSubject(), trace: UniqueID? = nil
    ) {
        self.kind = kind
        self.requestID = requestID
        self.occurredAtMilliseconds = occurredAtMilliseconds
        self.client = client
        self.reason = reason
        self.subject = subject
        self.trace = trace
    }
}

/// The session, grant and clients of a request, for its audit event and its answer. Filled in as they become known.
package struct AuditSubject: Sendable, Hashable {
    /// The row of the session.
    package var session: UniqueID?
    /// The row of the grant.
    package var grant: UniqueID?
    /// The app that logged in; only a registered one.
    package var sourceClient: ClientID?
    /// The IdP of the login, from the verified id_token. Also for an id_token that this broker signed.
    package var provider: Issuer?
    /// Claims that the client's list names, and that were too long for its access token. For the log only.
    package var claimsLeftOut: [String] = []
    /// Whether a refresh gave the app a successor that it may have lost. For the metrics only.
    package var isRedelivery = false

    package init(
        session: UniqueID? = nil, grant: UniqueID? = nil, sourceClient: ClientID? = nil, provider: Issuer? = nil
    ) {
        self.session = session
        self.grant = grant
        self.sourceClient = sourceClient
        self.provider = provider
    }
}
