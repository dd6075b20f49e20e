import NativeSSO

extension CodeRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .proofReplayed: EnrolmentRefusal.proofReplayed.explanation
        case .verifierMalformed:
            .init(
                "code_verifier has a length or characters that no verifier has",
                "Send the one that the code_challenge was made from: 43 to 128 characters (RFC 7636 §4.1).")
        case .used:
            .init(
                "the code was relayed before: for another request, more than 30 seconds ago, or without a result",
                "The user logs in again. A repetition must be the same request, within 30 seconds.")
        case .inFlight:
            .init(
                "the same request is being answered, or a broker died while it was", "Repeat it after Retry-After.")
        case .relayBusy:
            .init(
                "as many codes are at the identity provider as code_relay.at_once allows",
                "Repeat the request: the code was not sent. If it goes on, the identity provider is slow.")
        case .relayShareUsed:
            .init(
                "of the codes at the identity provider half are this app's, or a quarter came from this address",
                "Repeat the request: the code was not sent. If it goes on, the identity provider is slow, or somebody floods it."
            )
        case .provider(let error): error.explanation
        case .fault(let fault): fault.explanation
        case .idToken(let defect): EnrolmentRefusal.idToken(defect).explanation
        case .enrolment(let refusal): refusal.explanation
        }
    }
}

extension ProviderError {
    var explanation: RefusalExplanation {
        switch self {
        case .invalidRequest:
            .init(
                "the identity provider does not take the code request as it is",
                "Compare the app's registration there: redirect_uri, PKCE, and how it authenticates.")
        case .invalidClient:
            .init(
                "the identity provider does not know the client, or its secret",
                "The operator compares code_relay.client_secret_file with the registration there.")
        case .invalidGrant:
            .init(
                "the identity provider refused the code: expired, used, of another app, or with another verifier",
                "The user logs in again.")
        case .unauthorizedClient:
            .init(
                "the identity provider does not let the client use codes", "Allow the code flow in its registration.")
        case .unsupportedGrantType:
            .init("the identity provider knows no codes at this endpoint", "Check code_relay.token_endpoint.")
        case .invalidScope:
            .init("the identity provider refused the scope", "Compare the authorization request with the registration.")
        case .interactionRequired: .init("the identity provider wants to see the user", "The user logs in again.")
        case .other:
            .init(
                "the identity provider refused the code with an error of its own", "Its log has it, at this time.")
        }
    }
}

extension ProviderFault {
    var explanation: RefusalExplanation {
        switch self {
        case .endpointUnknown:
            .init(
                "the discovery document names no token endpoint on its own host",
                "The operator sets code_relay.token_endpoint.")
        case .unreachable:
            .init(
                "there is no connection to the identity provider's token endpoint that TLS could verify",
                "Check the network and its certificate. The code was not sent.")
        case .timedOut:
            .init(
                "the identity provider did not answer within code_relay.timeout",
                "The user logs in again: the code may be spent.")
        case .cutOff:
            .init("the connection broke after the code was sent", "The user logs in again: it may be spent.")
        case .unavailable: .init("the identity provider says that it is out of service", "Look at its state.")
        case .status:
            .init("the token endpoint answered with a status that none has", "Check code_relay.token_endpoint.")
        case .redirected:
            .init("the token endpoint answered with a redirect, which is not followed", "Name the place it points to.")
        case .contentType:
            .init("the token endpoint's answer is not declared as application/json", "Check what is between the two.")
        case .encoded: .init("the token endpoint's answer is compressed", "Check what is between the two.")
        case .tooLarge: .init("the token endpoint's answer is larger than 2 MiB", "Check what is between the two.")
        case .notJSON:
            .init("the token endpoint's answer is not strict JSON, or has a name twice", "Ask the identity provider.")
        case .malformed:
            .init(
                "the token endpoint's answer lacks an access token of type Bearer, or a member is not what it should be",
                "Compare it with RFC 6749 §5.1.")
        case .noIDToken:
            .init("the token endpoint gave no id_token", "Ask for the scope openid in the authorization request.")
        case .accessTokenHash:
            .init("at_hash is not that of the access token beside it", "Ask the identity provider.")
        case .otherClient:
            .init("the id_token is for another client, or for several", "Compare the client_id of both registrations.")
        case .stale: .init("the id_token has expired, or was issued more than 5 minutes ago", "Compare the clocks.")
        }
    }
}

extension RevocationOutcome {
    var explanation: RefusalExplanation {
        switch self {
        case .revoked:
            .init("the identity provider revoked the refresh token that no app got", "Nothing is left to be done.")
        case .refused:
            .init(
                "the identity provider refused to revoke the refresh token that no app got",
                "Its log has it, at this time. The token ends as its sessions do there.")
        case .failed:
            .init(
                "the refresh token that no app got was not revoked: the identity provider gave no answer, or too many came at once",
                "Look at its state. The token ends as its sessions do there.")
        case .endpointUnknown:
            .init(
                "the discovery document names no revocation endpoint on its own host",
                "The operator sets code_relay.revocation_endpoint, if there is one.")
        case .switchedOff:
            .init(
                "code_relay.revoke_orphans is false: the refresh token that no app got was not revoked",
                "Nothing is to be done. The token ends as its sessions do there.")
        case .outcomeUnknown:
            .init(
                "the database did not say whether an app can get what came for the code; it was not revoked",
                "Look at the database at this time. If no app has it, the token ends as its sessions do there.")
        }
    }
}
