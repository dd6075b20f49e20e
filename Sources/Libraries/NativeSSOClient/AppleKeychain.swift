// Not built or tried by this project's tests, which run on Linux.
#if canImport(Security)
    import Foundation
    import LocalAuthentication
    import Security

    /// A keychain access group on Apple's systems.
    ///
    /// The items are readable once the device was unlocked after its start, and never leave it: they are in no backup
    /// (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
    public struct AppleKeychain: Keychain {
        /// Why the keychain failed: an `OSStatus` of Security.
        public struct Failure: Error, Sendable, CustomStringConvertible {
            /// `errSecInteractionNotAllowed`: the device has not been unlocked. `errSecMissingEntitlement`: the app has no
            /// such access group.
            public let status: OSStatus
            public var description: String { SecCopyErrorMessageString(status, nil) as String? ?? "\(status)" }
        }

        private let accessGroup: String
        private let service: String
        private let prompt: String?

        /// - Parameters:
        ///   - accessGroup: With the team's prefix, as in the entitlement `keychain-access-groups`:
        ///     `TEAMID.com.example.login`.
        ///   - service: Tells these items from others in the group.
        ///   - prompt: Why the user must show face or finger, or type the device's code, for each read and change of an item;
        ///     nil: no question. Use it for the shared group only, and never for a group that a background task reads.
        public init(accessGroup: String, service: String = "native-sso", prompt: String? = nil) {
            self.accessGroup = accessGroup
            self.service = service
            self.prompt = prompt
        }

        /// The item, or nil. Asks the user if there is a prompt.
        public func item(_ name: String) throws -> [UInt8]? {
            var query = query(name)
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            guard let value = try find(query) else { return nil }
            guard let data = value as? Data else { throw Failure(status: errSecDecode) }
            return Array(data)
        }

        /// Reads an attribute, so that the user is not asked.
        public func revision(of name: String) throws -> ItemRevision? {
            var query = query(name)
            query[kSecReturnAttributes] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            guard let value = try find(query) else { return nil }
            let attribute = (value as? [CFString: Any])?[kSecAttrGeneric] as? Data
            return attribute.flatMap { ItemRevision(octets: Array($0)) } ?? ItemRevision(of: [])
        }

        /// The revision is an attribute of the item, and part of the query: the keychain compares and writes at once.
        public func replaceItem(_ name: String, _ current: ItemRevision?, with value: [UInt8]?) throws -> Bool {
            guard let current else {
                guard let value else { return try revision(of: name) == nil }
                var item = query(name)
                item.merge(try attributes(value)) { _, new in new }
                return try succeeded(SecItemAdd(item as CFDictionary, nil), unless: errSecDuplicateItem)
            }
            var query = query(name)
            query[kSecAttrGeneric] = Data(current.octets)
            let status =
                if let value {
                    SecItemUpdate(query as CFDictionary, try attributes(value) as CFDictionary)
                } else {
                    SecItemDelete(query as CFDictionary)
                }
            return try succeeded(status, unless: errSecItemNotFound)
        }

        private func query(_ name: String) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccessGroup: accessGroup, kSecAttrService: service,
                kSecAttrAccount: name, kSecUseDataProtectionKeychain: true,
            ]
            if let prompt {
                let context = LAContext()
                context.localizedReason = prompt
                query[kSecUseAuthenticationContext] = context
            }
            return query
        }

        private func attributes(_ value: [UInt8]) throws -> [CFString: Any] {
            var attributes: [CFString: Any] = [
                kSecValueData: Data(value), kSecAttrGeneric: Data(ItemRevision(of: value).octets),
            ]
            if prompt == nil {
                attributes[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            } else {
                guard
                    let control = SecAccessControlCreateWithFlags(
                        nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .userPresence, nil)
                else { throw Failure(status: errSecParam) }
                attributes[kSecAttrAccessControl] = control
            }
            return attributes
        }

        private func find(_ query: [CFString: Any]) throws -> CFTypeRef? {
            var value: CFTypeRef?
            return try succeeded(SecItemCopyMatching(query as CFDictionary, &value), unless: errSecItemNotFound)
                ? value : nil
        }

        private func succeeded(_ status: OSStatus, unless other: OSStatus) throws -> Bool {
            guard status == errSecSuccess || status == other else { throw Failure(status: status) }
            return status == errSecSuccess
        }
    }
#endif
