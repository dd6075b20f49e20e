import CPKCS11
import StrictCoding

/// One open session with a token.
///
/// `@unchecked Sendable`: one thread at a time uses it, that of its lane.
@safe final class TokenSession: @unchecked Sendable {
    private let functions: UnsafeMutablePointer<ck_function_list>
    private let handle: ck_session_handle_t
    private let slot: ck_slot_id_t
    /// Found private keys, by label.
    private var keys: [String: ck_object_handle_t] = [:]
    private var macKeys: [String: Bool] = [:]
    /// Runs after the session was closed.
    var onEnd: (() -> Void)?

    /// Finds the token, opens a session and logs in. Called by ``TokenModule``.
    init(_ settings: TokenSettings, _ functions: UnsafeMutablePointer<ck_function_list>) throws(TokenDefect) {
        let slot = unsafe try Self.slot(of: settings.token, functions)
        var handle: ck_session_handle_t = 0
        try Self.check(
            "C_OpenSession",
            unsafe functions.pointee.C_OpenSession?(
                slot, ck_flags_t(CKF_SERIAL_SESSION | CKF_RW_SESSION), nil, nil, &handle))
        unsafe self.functions = functions
        self.handle = handle
        self.slot = slot
        var pin = settings.pin
        let code = unsafe functions.pointee.C_Login?(handle, ck_user_type_t(CKU_USER), &pin, UInt(pin.count))
        // The login is the process's, not the session's.
        if code != CKR_USER_ALREADY_LOGGED_IN { try Self.check("C_Login", code) }
    }

    deinit {
        _ = unsafe functions.pointee.C_CloseSession?(handle)
        onEnd?()
    }

    static func check(_ call: StaticString, _ code: ck_rv_t?) throws(TokenDefect) {
        let code = code ?? CKR_FUNCTION_NOT_SUPPORTED
        guard code == CKR_OK else { throw TokenDefect(call: call, code: code) }
    }

    private static func slot(
        of label: String, _ functions: UnsafeMutablePointer<ck_function_list>
    ) throws(TokenDefect) -> ck_slot_id_t {
        var count: UInt = 0
        try check("C_GetSlotList", unsafe functions.pointee.C_GetSlotList?(1, nil, &count))
        var slots = [ck_slot_id_t](repeating: 0, count: Int(clamping: count))
        try check("C_GetSlotList", unsafe functions.pointee.C_GetSlotList?(1, &slots, &count))
        var present: [String] = []
        for slot in slots.prefix(Int(clamping: count)) {
            var info = ck_token_info()
            guard unsafe functions.pointee.C_GetTokenInfo?(slot, &info) == CKR_OK else { continue }
            // Padded with spaces.
            let padded = unsafe withUnsafeBytes(of: &info.label) { label in unsafe Array(label) }
            let name = String(decoding: padded, as: UTF8.self).trimmingSuffix(" ")
            if name.hasSameOctets(as: label) { return slot }
            if !name.isEmpty { present.append(name) }
        }
        throw .noToken(label: label, present: present)
    }
}

// MARK: Objects

extension TokenSession {
    /// The private or secret key with this label, of which there must be one.
    func privateKey(_ label: String) throws(TokenDefect) -> ck_object_handle_t {
        if let known = keys[label] { return known }
        let found = try objects(CKO_PRIVATE_KEY, label) + objects(CKO_SECRET_KEY, label)
        guard let key = found.first else { throw .noKey(label: label) }
        guard found.count == 1 else { throw .severalKeys(label: label) }
        keys[label] = key
        return key
    }

    func objects(_ kind: UInt, _ label: String) throws(TokenDefect) -> [ck_object_handle_t] {
        var found = [ck_object_handle_t](repeating: 0, count: 8)
        var count: UInt = 0
        let template: [Attribute] = [.number(CKA_CLASS, kind), .octets(CKA_LABEL, Array(label.utf8))]
        try Self.check(
            "C_FindObjectsInit",
            unsafe Attribute.with(template) { start, count in
                unsafe functions.pointee.C_FindObjectsInit?(handle, start, count)
            })
        defer { _ = unsafe functions.pointee.C_FindObjectsFinal?(handle) }
        try Self.check("C_FindObjects", unsafe functions.pointee.C_FindObjects?(handle, &found, 8, &count))
        return Array(found.prefix(Int(clamping: count)))
    }

    /// An attribute of at most 2 KiB.
    func attribute(_ type: UInt, of object: ck_object_handle_t) throws(TokenDefect) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: 2048)
        let (code, count) = unsafe value.withUnsafeMutableBytes { value in
            var attribute = unsafe ck_attribute(
                type: type, value: value.baseAddress, value_len: UInt(value.count))
            let code = unsafe functions.pointee.C_GetAttributeValue?(handle, object, &attribute, 1)
            return (code, unsafe attribute.value_len)
        }
        try Self.check("C_GetAttributeValue", code)
        return Array(value.prefix(Int(clamping: count)))
    }

    /// Makes a key pair that stays in the token: the private key is sensitive and not extractable.
    func generate(_ mechanism: UInt, _ label: String, public attributes: [Attribute]) throws(TokenDefect) {
        let name = Attribute.octets(CKA_LABEL, Array(label.utf8))
        let publicTemplate = attributes + [.flag(CKA_TOKEN, true), .flag(CKA_VERIFY, true), name]
        let privateTemplate: [Attribute] = [
            .flag(CKA_TOKEN, true), .flag(CKA_PRIVATE, true), .flag(CKA_SENSITIVE, true),
            .flag(CKA_EXTRACTABLE, false), .flag(CKA_SIGN, true), name,
        ]
        var pair: (ck_object_handle_t, ck_object_handle_t) = (0, 0)
        var mechanism = unsafe ck_mechanism(mechanism: mechanism, parameter: nil, parameter_len: 0)
        try Self.check(
            "C_GenerateKeyPair",
            unsafe Attribute.with(publicTemplate) { publicStart, publicCount in
                unsafe Attribute.with(privateTemplate) { privateStart, privateCount in
                    unsafe functions.pointee.C_GenerateKeyPair?(
                        handle, &mechanism, publicStart, publicCount, privateStart, privateCount, &pair.0, &pair.1)
                }
            })
    }

    /// Whether the token makes HMAC-SHA-256 keys and uses them.
    func makesMACKeys() -> Bool {
        [CKM_GENERIC_SECRET_KEY_GEN, CKM_SHA256_HMAC].allSatisfy { mechanism in
            var information = ck_mechanism_info()
            return unsafe functions.pointee.C_GetMechanismInfo?(slot, mechanism, &information) == CKR_OK
        }
    }

    func isMACKey(_ label: String) throws(TokenDefect) -> Bool {
        if let known = macKeys[label] { return known }
        let type = try attribute(CKA_KEY_TYPE, of: try privateKey(label))
        let isMACKey = type == Attribute.number(CKA_KEY_TYPE, CKK_GENERIC_SECRET).value
        macKeys[label] = isMACKey
        return isMACKey
    }

    /// Makes a MAC key of 32 octets that stays in the token.
    func generateMACKey(_ label: String) throws(TokenDefect) {
        let template: [Attribute] = [
            .number(CKA_CLASS, CKO_SECRET_KEY), .number(CKA_KEY_TYPE, CKK_GENERIC_SECRET), .number(CKA_VALUE_LEN, 32),
            .flag(CKA_TOKEN, true), .flag(CKA_PRIVATE, true), .flag(CKA_SENSITIVE, true), .flag(CKA_EXTRACTABLE, false),
            .flag(CKA_SIGN, true), .octets(CKA_LABEL, Array(label.utf8)),
        ]
        var key: ck_object_handle_t = 0
        var mechanism = unsafe ck_mechanism(mechanism: CKM_GENERIC_SECRET_KEY_GEN, parameter: nil, parameter_len: 0)
        try Self.check(
            "C_GenerateKey",
            unsafe Attribute.with(template) { start, count in
                unsafe functions.pointee.C_GenerateKey?(handle, &mechanism, start, count, &key)
            })
    }

    func destroy(_ label: String) throws(TokenDefect) {
        (keys[label], macKeys[label]) = (nil, nil)
        for kind in [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY] {
            for object in try objects(kind, label) {
                try Self.check("C_DestroyObject", unsafe functions.pointee.C_DestroyObject?(handle, object))
            }
        }
    }

    /// What the mechanism makes of `message`, at most 1 KiB.
    func sign(
        _ message: [UInt8], _ mechanism: UInt, _ parameter: ck_rsa_pkcs_pss_params?, by label: String
    ) throws(TokenDefect) -> [UInt8] {
        let key = try privateKey(label)
        let hasParameter = parameter != nil
        var parameter = parameter ?? ck_rsa_pkcs_pss_params()
        let started = unsafe withUnsafeMutableBytes(of: &parameter) { octets in
            var mechanism =
                unsafe !hasParameter
                ? ck_mechanism(mechanism: mechanism, parameter: nil, parameter_len: 0)
                : ck_mechanism(
                    mechanism: mechanism, parameter: octets.baseAddress,
                    parameter_len: UInt(MemoryLayout<ck_rsa_pkcs_pss_params>.size))
            return unsafe functions.pointee.C_SignInit?(handle, &mechanism, key)
        }
        try Self.check("C_SignInit", started)
        var message = message
        var signature = [UInt8](repeating: 0, count: 1024)
        var count = UInt(signature.count)
        try Self.check(
            "C_Sign", unsafe functions.pointee.C_Sign?(handle, &message, UInt(message.count), &signature, &count))
        return Array(signature.prefix(Int(clamping: count)))
    }
}

/// One attribute of a template, PKCS#11 2.40 §4.
struct Attribute {
    let type: UInt
    let value: [UInt8]

    static func flag(_ type: UInt, _ value: Bool) -> Attribute { Attribute(type: type, value: [value ? 1 : 0]) }
    static func octets(_ type: UInt, _ value: [UInt8]) -> Attribute { Attribute(type: type, value: value) }
    static func number(_ type: UInt, _ value: UInt) -> Attribute {
        Attribute(type: type, value: unsafe Swift.withUnsafeBytes(of: value) { octets in unsafe Array(octets) })
    }

    /// Lends the template as C reads it.
    static func with<Result>(
        _ template: [Attribute], _ body: (UnsafeMutablePointer<ck_attribute>?, UInt) -> Result
    ) -> Result {
        var values = template.flatMap(\.value)
        return unsafe values.withUnsafeMutableBytes { values in
            var offset = 0
            var attributes = unsafe template.map { attribute in
                defer { offset += attribute.value.count }
                return unsafe ck_attribute(
                    type: attribute.type, value: values.baseAddress?.advanced(by: offset),
                    value_len: UInt(attribute.value.count))
            }
            return unsafe attributes.withUnsafeMutableBufferPointer { attributes in
                unsafe body(attributes.baseAddress, UInt(attributes.count))
            }
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = self[...]
        while text.last == character { text.removeLast() }
        return String(text)
    }
}
