// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Enrolment, as for an exchange

extension EnrolmentRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .otherClient: .init("enrolment_other_client", "the id_token is for another app, or for several",
            "An app enrols its own login alone.")
        case .expired: .init("enrolment_token_expired", "the id_token is expired", "Enrol right after the login.")
        case .stale: .init("enrolment_token_stale", "the id_token is more than 5 minutes old", "Enrol right after the login.")
        case .deviceHashMismatch: .init("device_hash_mismatch", "the id_token is bound to another device value",
            "Send the device value that was used at the login.")
        case .clientDisabled: .clientDisabled
        case .clientNotInGroup: .clientNotInGroup
        case .directionForbidden: .init("direction_forbidden",
            "the app's role in the sharing group is target: no other app may use its logins",
            "The operator changes it: native-sso group member add --role both.")
        case .loginEnded: .init("enrolment_login_ended", "the login is over already", "The user logs in again.")
        case .accountDisabled: .accountDisabled
        case .deviceBlocked: .deviceBlocked
        case .pinConflict: .pinConflict
        case .tokenUsed: .init("enrolment_token_used",
            "the id_token was enrolled before, with another device value, or that session is over",
            "Use the tokens of the first enrolment, or log in again. If the app did not enrol twice, an attacker has a copy.")

        // RFC 6749 §3.3, Native SSO §3.1.
        case .scopeLacksOpenID: .init("scope_lacks_openid", .invalidScope("The scope must contain openid."),
            "the scope has no openid", "Add openid to it.")
        case .scopeLacksDeviceSSO: .init("scope_lacks_device_sso", .invalidScope("The scope must contain device_sso."),
            "the scope has no device_sso", "Add it: it asks for the device_secret.")
        case .scopeExceedsClient: .scopeExceedsClient
        }
    }
}

// MARK: Authorization code. RFC 6749 §5.2, RFC 7636 §4.6

extension CodeRefusal {
    var row: RefusalRow {
        switch self {
        case .relay(let refusal): refusal.row
        case .provider(let error): error.row
        case .fault(let fault): fault.row
        case .unusable, .idToken: .answerUnusable
        case .enrolment(let refusal): refusal.row
        }
    }

    /// What exactly is wrong with the identity provider's answer; `nil`: nothing.
    var answerFault: RefusalRow? {
        switch self {
        case .unusable(let fault): fault.row
        case .idToken(let defect): defect.row
        case .relay, .provider, .fault, .enrolment: nil
        }
    }
}

extension RefusalRow {
    /// One reason for every fault, so that one alert finds them all. The log names the fault beside it.
    static let answerUnusable = RefusalRow("idp_answer_unusable",
        "the broker cannot use the identity provider's answer to the code",
        "The user logs in again, once. If that fails, too, the operator reads fault in the request's log line: it names what is wrong with the answer.")
}

extension RelayRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .proofReplayed: .proofReplayed
        case .codeMalformed: .init("code_malformed",
            "the code has characters that RFC 6749 App. A.11 does not allow", "Send the code as the callback had it.")
        case .verifierMalformed: .init("code_verifier_malformed",
            "code_verifier has a length or characters that RFC 7636 §4.1 does not allow",
            "Send the one that the code_challenge was made from: 43 to 128 characters.")
        case .used: .init("code_used",
            "the code was relayed before: for another request, more than 30 seconds ago, or without a result",
            "The user logs in again. A repetition must be the same request, within 30 seconds.")
        // Says nothing of the code: the app may try again, and learns the result then.
        case .inFlight: .init("code_in_flight", .unavailable,
            "the same request is still in progress, or a broker stopped during it", "Repeat it after Retry-After.")
        case .relayBusy: .init("code_relay_busy", .unavailable,
            "code_relay.at_once codes are already waiting for the identity provider",
            "Repeat the request: the code was not sent. If this goes on, the identity provider is slow.")
        case .relayShareUsed: .init("code_relay_share_used", .unavailable,
            "this app already uses half of code_relay.at_once, or this address a quarter of it",
            "Repeat the request: the code was not sent. If this goes on, the identity provider is slow, or an attacker floods it.")
        }
    }
}

extension ProviderError: RefusalCase {
    /// The app sees only the code of the identity provider's error, from a closed set. The text is the broker's.
    package var row: RefusalRow {
        switch self {
        case .invalidRequest: .init("idp_invalid_request", .invalidRequest("The identity provider does not take the code request."),
            "the identity provider answered the code request with invalid_request",
            "Compare the app's registration there: redirect_uri, PKCE, and how it authenticates.")
        case .invalidClient: .init("idp_invalid_client", .badRequest(.invalidClient, "The identity provider refused the client."),
            "the identity provider does not know the client, or its secret",
            "The operator compares code_relay.client_secret_file with the registration there.")
        case .invalidGrant: .init("idp_invalid_grant",
            "the identity provider refused the code: expired, used, of another app, or with another verifier",
            "The user logs in again.")
        case .unauthorizedClient: .init("idp_unauthorized_client", .badRequest(.unauthorizedClient, "The client may not use codes at the identity provider."),
            "the identity provider does not let the client use codes", "Allow the code flow in its registration.")
        case .unsupportedGrantType: .init("idp_unsupported_grant_type", .badRequest(.unsupportedGrantType, "The identity provider does not support the grant type."),
            "the identity provider knows no codes at this endpoint", "Check code_relay.token_endpoint.")
        case .invalidScope: .init("idp_invalid_scope", .invalidScope("The identity provider refused the scope."),
            "the identity provider refused the scope", "Compare the authorization request with the registration.")
        case .interactionRequired: .init("idp_interaction_required", .interactionRequired,
            "the identity provider demands that the user logs in there", "The user logs in again.")
        case .other: .init("idp_other_error", "the identity provider refused the code with an error of its own",
            "Look at the identity provider's log at this time.")
        }
    }
}

extension ProviderFault: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .unavailable) }

    private var words: RefusalRow.Words {
        switch self {
        case .endpointUnknown: ("idp_token_endpoint_unknown",
            "the discovery document names no token endpoint on its own host", "The operator sets code_relay.token_endpoint.")
        case .unreachable: ("idp_unreachable",
            "the broker cannot connect to the identity provider's token endpoint, or TLS cannot verify it",
            "Check the network and the certificate. The code was not sent.")
        case .timedOut: ("idp_timed_out", "the identity provider did not answer within code_relay.timeout",
            "The user logs in again: the code may be spent.")
        case .cutOff: ("idp_cut_off", "the connection broke after the code was sent",
            "The user logs in again: the code may be spent.")
        case .unavailable: ("idp_unavailable", "the identity provider says that it is out of service",
            "Check the identity provider.")
        }
    }
}

extension AnswerFault {
    /// Its reason is the fault's name in the log. It is no reason of a refusal: see ``RefusalRow/answerUnusable``.
    var row: RefusalRow { RefusalRow(words, .invalidGrant) }

    private var words: RefusalRow.Words {
        switch self {
        case .status: ("idp_status", "the token endpoint answered with a status that RFC 6749 does not know",
            "Check code_relay.token_endpoint.")
        case .redirected: ("idp_redirected", "the token endpoint answered with a redirect, which the broker does not follow",
            "The operator sets code_relay.token_endpoint to the address that it points to.")
        case .contentType: ("idp_content_type", "the token endpoint's answer is not declared as application/json",
            "Check what is between the broker and the identity provider.")
        case .encoded: ("idp_content_encoding", "the token endpoint's answer is compressed",
            "Check what is between the broker and the identity provider.")
        case .tooLarge: ("idp_too_large", "the token endpoint's answer is larger than 2 MiB",
            "Check what is between the broker and the identity provider.")
        case .notJSON: ("idp_not_json", "the token endpoint's answer is not strict JSON, or has a name twice",
            "Ask the identity provider.")
        case .malformed: ("idp_answer_malformed",
            "the token endpoint's answer lacks an access token of type Bearer, or a member has the wrong type",
            "Compare it with RFC 6749 §5.1.")
        case .noIDToken: ("idp_no_id_token", "the token endpoint gave no id_token",
            "Ask for the scope openid in the authorization request.")
        case .accessTokenHash: ("idp_at_hash", "at_hash is not that of the access token beside it",
            "Ask the identity provider.")
        case .otherClient: ("idp_id_token_other_client", "the id_token is for another client, or for several",
            "Compare the client_id of both registrations.")
        case .stale: ("idp_id_token_stale", "the id_token has expired, or was issued more than 5 minutes ago",
            "Compare the clocks.")
        }
    }
}
