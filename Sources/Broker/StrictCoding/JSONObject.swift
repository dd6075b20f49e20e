/// The members of one JSON object in the order of the document. Names are unique: the reader refuses a repeated one.
public struct JSONObject: Sendable, Equatable {
    /// A name with its value.
    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSONValue

        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        public static func == (a: Member, b: Member) -> Bool {
            a.name.hasSameOctets(as: b.name) && a.value == b.value
        }
    }

    /// The members in the order of the document.
    public private(set) var members: [Member] = []

    public init() {}

    /// The value of the member with these octets as its name.
    ///
    /// A set value replaces the member in its place, or appends one; nil removes it.
    public subscript(_ name: String) -> JSONValue? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index] = Member(name: name, value: value)
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    public var count: Int { members.count }
    public var isEmpty: Bool { members.isEmpty }
    public var names: [String] { members.map(\.name) }

    /// Whether a member of this name exists, whatever its value, `null` included.
    public func contains(_ name: String) -> Bool { index(of: name) != nil }

    /// The text of member `name`; nil if it is absent or no string. Likewise the accessors below.
    public func string(_ name: String) -> String? { self[name]?.string }
    public func number(_ name: String) -> JSONNumber? { self[name]?.number }
    public func bool(_ name: String) -> Bool? { self[name]?.bool }
    public func array(_ name: String) -> [JSONValue]? { self[name]?.array }
    public func strings(_ name: String) -> [String]? { self[name]?.strings }
    public func object(_ name: String) -> JSONObject? { self[name]?.object }

    /// Appends a member. False, and nothing changes, where the name is taken.
    mutating func append(_ name: String, _ value: JSONValue) -> Bool {
        guard index(of: name) == nil else { return false }
        members.append(Member(name: name, value: value))
        return true
    }

    private func index(of name: String) -> Int? {
        for index in members.indices where members[index].name.hasSameOctets(as: name) { return index }
        return nil
    }
}
