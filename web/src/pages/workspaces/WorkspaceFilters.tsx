import { IconBookmark, IconCheck, IconChevronDown, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { api } from '../../api/client';
import { organizations } from '../../api/queries';
import { PopupButton } from '../../components/PopupButton';
import { SearchField } from '../../components/SearchField';
import { earlyComponent } from '../../components/lazyComponent';
import plain from '../../components/plain.module.css';
import { getTerm, setTerm } from '../../lib/filterQuery';
import { useFirstPageShown } from '../../lib/firstPage';
import { formatCount, formatNumber } from '../../lib/text';
import type { SavedView } from '../../lib/savedViews';
import type { Choice } from './FilterMenu';
import classes from './filters.module.css';
import { sortLabels } from './sort';
import { useWorkspaceCounts } from './workspaceCounts';

const FilterMenu = earlyComponent(() => import('./FilterMenu'));
const ViewsMenu = earlyComponent(() => import('./ViewsMenu'));

const owners: Choice[] = [{ value: 'me', label: 'Me' }];
const statuses: Choice[] = [
  { value: 'running', label: 'Running' },
  { value: 'unhealthy', label: 'Unhealthy' },
  { value: 'starting', label: 'Starting' },
  { value: 'pending', label: 'Pending' },
  { value: 'stopping', label: 'Stopping' },
  { value: 'stopped', label: 'Stopped' },
  { value: 'failed', label: 'Failed' },
  { value: 'canceled', label: 'Canceled' },
];
const toggles = [
  { key: 'status', on: 'unhealthy', label: 'Unhealthy' },
  { key: 'outdated', on: 'true', label: 'Update available' },
  { key: 'dormant', on: 'true', label: 'Dormant' },
  { key: 'shared', on: 'true', label: 'Shared', uncounted: true },
];

interface Props {
  q: string;
  sort: string | undefined;
  /** The number of workspaces in the list; undefined while it loads. */
  total: number | undefined;
  /** The list has no column headers that change the order. */
  narrow: boolean;
  onSearch: (q: string) => void;
  onSort: (sort: string | undefined) => void;
  onOpen: (view: SavedView) => void;
}

/** The search, the filters and the saved views of the workspace list. Each filter is a term of the search. */
export const WorkspaceFilters = memo(function WorkspaceFilters(props: Props) {
  const { q, sort, total, narrow, onSearch, onSort, onOpen } = props;
  const enabled = useFirstPageShown();
  const { data: templates = [] } = useQuery({
    enabled,
    queryKey: ['templates', 'filter'],
    queryFn: () => api.get('/templates', { query: { limit: 100 } }),
  });
  const { data: orgs = [] } = useQuery({ ...organizations, enabled });
  const count = useWorkspaceCounts(q);
  const named = (list: { name: string; display_name: string }[]) =>
    list.map((item) => ({ value: item.name, label: item.display_name || item.name }));
  const counted = (key: string, choices: Choice[]) =>
    choices.map((choice) => ({ ...choice, count: count(setTerm(q, key, choice.value)) }));
  const set = (key: string) => (value: string | undefined) => onSearch(setTerm(q, key, value));
  const value = (key: string) => getTerm(q, key);
  return (
    <>
      <div className={classes.search}>
        <SearchField
          label="Search workspaces"
          placeholder="name, owner:, template:, status:, organization: ..."
          value={q}
          onChange={onSearch}
        />
        <PopupButton popup={ViewsMenu} popupProps={{ q, sort, onOpen }} className={`${plain.button} ${plain.default}`}>
          <IconBookmark size={16} />
          <span className={plain.label}>Views</span>
        </PopupButton>
      </div>
      <div className={classes.chips} role="group" aria-label="Filters">
        <FilterChip name="Owner" all="Anyone" choices={owners} value={value('owner')} onChange={set('owner')} />
        <FilterChip
          name="Status"
          all="Any"
          choices={counted('status', statuses)}
          value={value('status')}
          onChange={set('status')}
        />
        <FilterChip
          name="Template"
          all="Any"
          choices={counted('template', named(templates))}
          value={value('template')}
          onChange={set('template')}
        />
        {orgs.length > 1 && (
          <FilterChip
            name="Organization"
            all="Any"
            choices={named(orgs)}
            value={value('organization')}
            onChange={set('organization')}
          />
        )}
        {toggles.map(({ key, on, label, uncounted }) => {
          const pressed = value(key) === on;
          const found = uncounted ? undefined : count(setTerm(q, key, on));
          return (
            <button
              key={label}
              type="button"
              className={`${plain.button} ${plain.chip} ${pressed ? plain.light : plain.default}`}
              aria-pressed={pressed}
              onClick={() => set(key)(pressed ? undefined : on)}
            >
              {pressed && <IconCheck size={14} />}
              <span className={plain.label}>{label}</span>
              {found !== undefined && (
                <span data-right className={plain.note}>
                  {formatNumber(found)}
                </span>
              )}
            </button>
          );
        })}
        {narrow && (
          <FilterChip
            name="Sort"
            all="Favorites, then name"
            choices={Object.entries(sortLabels).map(([by, label]) => ({ value: by, label }))}
            value={sort}
            onChange={onSort}
          />
        )}
        {total !== undefined && total > 0 && (
          <p className={classes.total} role="status">
            {formatCount(total, 'workspace')}
          </p>
        )}
      </div>
    </>
  );
});

interface ChipProps {
  name: string;
  /** The label of no filter. */
  all: string;
  choices: Choice[];
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** A filter with its value, a menu of values, and a button that removes it. */
function FilterChip({ name, value, ...menu }: ChipProps) {
  const label = menu.choices.find((c) => c.value === value)?.label ?? value;
  return (
    <div className={plain.line} style={{ gap: 0 }}>
      <PopupButton
        popup={FilterMenu}
        popupProps={{ value, ...menu }}
        className={`${plain.button} ${plain.chip} ${value === undefined ? plain.default : plain.light}`}
      >
        <span className={plain.label}>{value === undefined ? name : `${name}: ${label}`}</span>
        <IconChevronDown size={14} />
      </PopupButton>
      {value !== undefined && (
        <button
          type="button"
          className={`${plain.icon} ${plain.tiny} ${plain.subtle}`}
          aria-label={`Remove filter ${name}`}
          onClick={() => menu.onChange(undefined)}
        >
          <IconX size={16} />
        </button>
      )}
    </div>
  );
}
